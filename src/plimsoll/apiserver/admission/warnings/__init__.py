"""Warnings that clients get beside an answer: deprecated kinds, fields that are not enforced."""
