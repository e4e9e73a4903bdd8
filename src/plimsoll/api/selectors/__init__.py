"""Selectors of labels, fields, nodes and topology: parsed once, matched many times.

Names that end in Spec mirror the wire; `of` turns one into the selector that matches. Start with
`requirement`, what all selectors of labels are made of."""
