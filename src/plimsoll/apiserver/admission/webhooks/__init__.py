"""Admission webhooks: `configuration` finds the webhooks that a write has to pass, `steps` calls
them in order.

No code here waits. A step looks up in `calls` what a webhook has answered to the request. If it has
not been called yet, the decision stops, the server calls the webhook, and the decision is made
again with the answer.
"""
