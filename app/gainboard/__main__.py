"""`python -m gainboard` is the `gainboard` command."""

import sys

from gainboard.cli import main

sys.exit(main())
