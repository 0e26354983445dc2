"""What requests and answers hold, as Pydantic models: all that clients and commands need of the API."""
