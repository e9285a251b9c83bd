"""Who talks to the assistant: made-up traffic with its truth. No part of a run; the pipeline never reads it."""
