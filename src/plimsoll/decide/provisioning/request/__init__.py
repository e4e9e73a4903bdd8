"""What a CreateVolume call is made of, one part per module; `preparation` puts them together.

Parts that cannot be made raise RefusalError with the state that the attempt ends in.
"""
