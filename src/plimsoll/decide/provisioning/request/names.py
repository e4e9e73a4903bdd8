"""What a volume is called: the same in every attempt, so that a claim never gets two."""

from plimsoll.decide.provisioning.failures import Problem, refuse
from plimsoll.decide.provisioning.settings import ProvisionerSettings


def volume_name(claim_uid: str, settings: ProvisionerSettings) -> str:
    prefix, length = settings.volume_name_prefix, settings.volume_name_uuid_length
    if not prefix:
        refuse(Problem.VOLUME_NAME, "volume name prefix cannot be of length 0")
    if not claim_uid:
        refuse(Problem.VOLUME_NAME, "corrupted PVC object, it is missing UID")
    if length is None:
        return f"{prefix}-{claim_uid}"
    return f"{prefix}-{claim_uid.replace('-', '')[:length]}"
