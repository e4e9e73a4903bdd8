"""What processes made of control loops share: observe, decide, enact, for each key of a queue.

Start with `loop`. `observed` is what loops see, and `running` starts them and what is around them.
`process` is what every process has: a connection, an election, pages, signals.
"""
