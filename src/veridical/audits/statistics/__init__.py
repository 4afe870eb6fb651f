"""The statistics of an audit: functions of its rows, without torch."""
