"""Programs that are looked at while they run: profiles, watched values, comparisons of runs."""
