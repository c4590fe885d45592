"""What is measured for pages: the reference run, profiles, replayed requests."""
