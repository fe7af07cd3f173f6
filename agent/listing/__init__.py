"""What is counted or listed: members of lists and enumerations, and what a document has."""
