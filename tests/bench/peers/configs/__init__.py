"""What each proxy is told, as text: the same listeners, the same endpoints in turn, one worker and no access log."""
