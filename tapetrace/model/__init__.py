"""The words of tapetrace as frozen data: locations, causes, verdicts, traces, reports and the graph."""
