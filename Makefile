# r4_ros: `make help` lists the targets. Every target sets up what it needs first; a second time that takes a second.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup setup-vision robot demo test test-vision lint clean
PYTEST_ARGS ?=
ROOMS := $(addprefix r4_ros/,core perception memory reasoner experience)

# With a ROS sourced, the interfaces come from the overlay that set-up built.
IN_ROS := if [ -f install/setup.bash ]; then . install/setup.bash; fi; export PATH="$$PWD/.venv/bin:$$PATH";

help:  ## show this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 22

setup:  ## install everything the demo needs into .venv
	@.ci/setup

setup-vision:  ## also torch, transformers, SAM 2 and Open3D (6 GB)
	@.ci/setup vision

robot:  ## on a machine with ROS 2 sourced: .venv beside it, and a colcon build into install/
	@.ci/setup robot

demo:  ## two robots in a simulated apartment, then questions to their memory
	@.ci/setup
	@$(IN_ROS) r4 demo

test:  ## all tests that need no vision models (PYTEST_ARGS="-k name" for some)
	@.ci/setup test
	@$(IN_ROS) python -m pytest $(PYTEST_ARGS)

test-vision:  ## the tests that need torch and the vision models
	@.ci/setup test vision
	@$(IN_ROS) python -m pytest -m vision $(PYTEST_ARGS) || [ $$? -eq 5 ]  # 5: there are none

lint:  ## ruff, formatting, mypy --strict on the core and the rooms; the scripts and Dockerfiles too
	@.ci/setup lint
	@$(IN_ROS) ruff check . && ruff format --check . && mypy $(ROOMS) && \
	  shellcheck .ci/setup .ci/run docker/entrypoint.sh && hadolint docker/Dockerfile docker/Dockerfile.gpu

clean:  ## remove .venv and everything that was built
	rm -rf .venv build install log .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
