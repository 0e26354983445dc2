"""The ring where SQLAlchemy stops: functions take a transaction and records, and return records."""
