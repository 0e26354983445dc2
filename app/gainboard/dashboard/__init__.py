"""The dashboard: pages for people, made by the same use cases as the API.

Each page is one file with its routes, beside a template of the same name. `rendering` gives pages their layout and
headers, `sessions` says who looks, and `assets` serves what pages load.
"""
