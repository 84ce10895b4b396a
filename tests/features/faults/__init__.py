"""What the tests of faults share: the load with ids and hashes, endpoints that misbehave, and the stage they are on."""
