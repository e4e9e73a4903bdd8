"""Who is answered when: `levels` tells requests apart, `seats` shares each level among users."""
