"""Text as search sees it: tokens and passages."""
