"""The Pydantic models of requests and answers. Clients and commands need nothing else of the API."""
