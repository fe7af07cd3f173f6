"""What is worked out from cells: ratios of accounts, comparisons, sums and averages, the most of something."""
