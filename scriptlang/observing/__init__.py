"""Tools that observe programs while they run: profiles, watched values, comparisons of runs."""
