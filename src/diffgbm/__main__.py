"""``python -m diffgbm``."""

from diffgbm.cli import main

if __name__ == "__main__":
    main()
