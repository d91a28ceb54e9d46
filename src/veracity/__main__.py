"""``python -m veracity`` is the command ``veracity``."""

from veracity.cli import main

if __name__ == "__main__":
    main()
