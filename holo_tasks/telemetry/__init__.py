"""What is measured of a run for whoever collects such, by OpenTelemetry; without it nothing here is loaded."""
