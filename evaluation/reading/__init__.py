"""Reading comprehension in SQuAD format: the paragraph is given, the answer is to be found in it."""
