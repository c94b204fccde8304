"""``python -m diffgbm``."""

from diffgbm.cli.entry import main

if __name__ == "__main__":
    main()
