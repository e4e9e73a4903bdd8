"""Security contexts, AppArmor profiles, and the options that only Windows has."""
