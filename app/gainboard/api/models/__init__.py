"""Pydantic models of requests and answers, which are all that clients and commands need of the API."""
