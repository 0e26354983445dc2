"""Access: who may do what, what each principal sees of a campaign, and what a team is charged for it."""
