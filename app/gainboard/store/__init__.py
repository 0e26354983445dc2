"""Where SQLAlchemy stops: functions over a transaction, records in and out."""
