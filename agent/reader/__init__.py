"""A reader that finds the words of an answer in a paragraph: learned, small, on the CPU."""
