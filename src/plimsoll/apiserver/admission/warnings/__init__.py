"""What clients are told beside an answer: deprecated kinds, fields that are not enforced."""
