"""A client that asks an application without a network."""

import asyncio

import pytest

httpx = pytest.importorskip("httpx")


class Client:
    """Asks an application; a failure inside it is an answer with the status 500."""

    def __init__(self, app):
        self.app = app

    def request(self, method, path, **options):
        async def ask():
            transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                return await client.request(method, path, **options)

        return asyncio.run(ask())

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, **options):
        return self.request("POST", path, **options)
