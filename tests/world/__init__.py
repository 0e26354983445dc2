"""The world that tests are in: servers, campaigns, people and benches, each built in one place."""
