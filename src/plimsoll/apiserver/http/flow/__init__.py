"""In which order requests are answered, as API Priority and Fairness does it: `levels` gives a
request its priority level, `seats` shares each level among users.
"""
