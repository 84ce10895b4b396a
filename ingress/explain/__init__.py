"""Runs the command `zonal explain`, and adds to an explanation what cluster objects say."""
