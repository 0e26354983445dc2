"""Commands for people who change Gainboard."""
