"""Measures an API server, the embedded one or any that is named; how claims get their volumes,
pods their nodes, and capacity is published; what `plimsoll up` and the simulator
cost."""

import argparse
import json
import sys
from pathlib import Path

import uvloop

from bench.binding import measure_binding
from bench.capacity import measure_capacity
from bench.copying import measure_copying
from bench.embedded import measure_embedded
from bench.local_cluster import measure_local_cluster
from bench.measurement import table
from bench.publishing import measure_publishing
from bench.scheduling import measure_scheduling
from bench.simulation import measure_simulation
from bench.target import Target
from bench.workloads import Scale, measure
from tests.servers import Endpoint


def parsed_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--server", help="URL of a running server; by default one is started")
    parser.add_argument("--token", help="the administrator's bearer token")
    parser.add_argument("--ca", type=Path, help="the file with the server's authority")
    parser.add_argument("--pid", type=int, action="append", default=[], help="of that server")
    parser.add_argument("--pods", type=int, default=Scale().pods)
    parser.add_argument("--listed", type=int, default=Scale().listed, help="objects in the list")
    parser.add_argument("--scheduling", action="store_true", help="measure scheduling alone")
    parser.add_argument("--capacity", action="store_true", help="measure publishing alone")
    parser.add_argument("--copying", action="store_true", help="measure snapshots alone")
    parser.add_argument("--simulation", action="store_true", help="measure the simulator alone")
    parser.add_argument("--up", action="store_true", help="measure both forms of plimsoll up alone")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    arguments = parser.parse_args()
    if arguments.server and not (arguments.token and arguments.ca):
        parser.error("--server needs --token and --ca")
    return arguments


def named_target(arguments: argparse.Namespace) -> Target:
    endpoint = Endpoint(
        url=arguments.server,
        token=arguments.token,
        authority=arguments.ca,
        kubeconfig=Path("none"),
    )
    return Target(name=arguments.server, endpoint=endpoint, pids=tuple(arguments.pid))


def remark(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    arguments = parsed_arguments()
    scale = Scale(pods=arguments.pods, listed=arguments.listed)
    if arguments.server:
        found = uvloop.run(measure(named_target(arguments), scale, remark))
    elif arguments.scheduling:
        found = measure_scheduling(remark)
    elif arguments.capacity:
        found = measure_capacity(remark) + measure_publishing(remark)
    elif arguments.copying:
        found = uvloop.run(measure_copying(remark))
    elif arguments.simulation:
        found = measure_simulation(remark)
    elif arguments.up:
        found = uvloop.run(measure_local_cluster(remark))
    else:
        found = measure_embedded(scale, remark) + measure_binding(remark)
        found += measure_scheduling(remark) + measure_capacity(remark)
        found += measure_publishing(remark) + uvloop.run(measure_copying(remark))
        found += uvloop.run(measure_local_cluster(remark)) + measure_simulation(remark)
    if arguments.output == "json":
        print(json.dumps([each.as_json() for each in found], indent=2))
    else:
        for line in table(found):
            print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
