#!/usr/bin/env bash
# Prints the headers that an installation has, by their paths from the root, where this runs.
printf '%s\n' unroll.h {framework,framework/processes,layers,layers/recurrent,layers/recurrent/engines,optim,data,data/text,training,training/steps,training/files,training/report,training/program/recipe,export}/*.h | sort
