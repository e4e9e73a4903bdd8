"""The counter that orders volumes and reports of capacity; see `decide.capacity.tokens`.

It is never behind a token that the process has seen. A volume that is recorded was made, so that
what is asked of the driver after that counts it in, whichever process has written its token: one
without an election, or one whose lease was deleted and made anew, may have written larger ones.
"""

from plimsoll.decide.capacity.tokens import CapacityToken
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.leading.fence import Fence


class TokenCounter:
    """Of one life of the process; the next one, and every later leader, begins above it."""

    def __init__(self, fence: Fence, clock: Clock) -> None:
        self._fence = fence
        self._began_ms = round(clock.now().timestamp() * 1000)
        self._counter = 0
        self._seen = CapacityToken(0, 0)

    def saw(self, token: CapacityToken | None) -> None:
        """On a volume, or on a capacity object."""
        if token is not None:
            self._seen = max(self._seen, token)

    def current(self) -> CapacityToken:
        return max(self._own(), self._seen)

    def _own(self) -> CapacityToken:
        epoch = self._fence.epoch
        if epoch is None:
            return CapacityToken(self._began_ms // 1000, self._began_ms % 1000, self._counter)
        since = int(epoch.lease_created_at.timestamp())
        return CapacityToken(since, epoch.transitions, self._counter)

    def raised(self) -> CapacityToken:
        self._counter += 1
        if self._own() <= self._seen:
            self._seen = self._seen._replace(counter=self._seen.counter + 1)
        return self.current()
