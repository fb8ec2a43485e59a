"""The meaning of the fields of a result and of the columns of its tables. Tests compare the names with real runs.

`*` in a name stands for mean, p50, p95, p99 and max. `<job>`, `<v>` and `<c>` stand for names of jobs.
"""

from __future__ import annotations

FIELDS: list[tuple[str, str]] = [
    (
        "offered_load",
        "configured flits per terminal and flit time, the mean over the window and over all terminals, "
        "also those that a pattern leaves silent; null with a workload",
    ),
    ("accepted_load", "received flits per terminal and flit time in the window"),
    ("packet_latency_*_ns", "latency of the packets received in the window, from `latency_reference` on"),
    (
        "latency_reference",
        "`nic` (acceptance by the network interface, as in the papers) or `generation` (with queueing in the source)",
    ),
    ("network_latency_*_ns", "the same latency, from acceptance by the network interface on"),
    ("generation_latency_*_ns", "the same latency, from generation on"),
    ("packet_latency_first_half_ns", "mean of the window's first half; null for fewer than 1,000 packets"),
    ("packet_latency_second_half_ns", "mean of the window's second half; null for fewer than 1,000 packets"),
    (
        "packet_latency_trend",
        "correlation of the mean packet latency of the window's ten parts with time; null for few packets",
    ),
    ("steady", "with `run.precision`: whether both intervals are narrow enough, see [steady state](../steady.md)"),
    ("steady_reason", "with `run.precision`: the reason for `steady`, with the relative half widths"),
    ("saturated", "with `run.precision`: whether the network cannot carry the offered load"),
    (
        "packet_latency_mean_ns_interval",
        "with `run.precision`: ends of the confidence interval of `packet_latency_mean_ns`; null without packets",
    ),
    ("accepted_load_interval", "with `run.precision`: ends of the confidence interval of `accepted_load`"),
    ("warmup_end_ns", "with `run.precision`: end of the warm-up, where the window begins"),
    (
        "effective_samples",
        "with `run.precision`: number of independent packets whose mean latency would have an equal interval",
    ),
    ("marked_fraction", "with a congestion control: part of the acknowledged packets that a router marked"),
    ("sender_window_mean_bytes", "with a window: the flow's window, the mean over the acknowledged packets"),
    ("sender_rate_mean_gb_per_s", "with a control by rates: the flow's rate, the mean over the acknowledged packets"),
    ("histogram_relative_error", "largest error of the percentiles"),
    ("hops_mean", "router-to-router hops per packet"),
    ("nonminimal_fraction", "part of the packets that left the minimal path"),
    (
        "packets_generated",
        "packets generated in the window; with `router.source_backlog=kept`, a packet behind a full NIC counts when "
        "its source reaches it",
    ),
    ("packets_injected", "packets that a network interface accepted in the window"),
    ("packets_delivered", "packets delivered in the window"),
    (
        "generations_missed",
        "with `router.source_backlog=lost`: packets that were due while a full NIC blocked their source",
    ),
    ("flits_delivered", "flits received in the window"),
    ("flit_hops", "channel traversals in the window, with ejection and without injection"),
    ("cycles", "cycles of the whole run"),
    ("simulated_ns", "simulated time of the whole run"),
    (
        "changes_ns",
        "times at which links failed or recovered, and at which the load or the pattern of all terminals changed",
    ),
    ("window_cycles", "length of the window in cycles"),
    ("window_ns", "length of the window in ns"),
    ("drained", "whether the network was empty at the end of the run; null without `run.drain`"),
    ("cpu_seconds", "CPU time of the simulation loop"),
    ("wall_seconds", "wall time of the simulation loop"),
    ("measure_cpu_seconds", "CPU time of the measurement window"),
    ("build_cpu_seconds", "CPU time to build the network"),
    ("peak_rss_mb", "peak memory of the process"),
    ("state_hash", "hash of the final state; equal hashes mean equal states"),
    ("version", "version of the code: release, commit, and a hash of the compiled files"),
    (
        "results_version",
        "version of the recorded results of the core's tests; runs of other commits with the same version are reused; "
        "empty if the core was built from uncommitted files",
    ),
    (
        "plugins",
        "the plugins whose C++ components took part, with their versions; the run is reused while they are unchanged",
    ),
    ("config_hash", "hash of the configuration without keys that change no result; part of the folder's name"),
    ("config", "the resolved configuration of the command"),
    (
        "core_config",
        "the configuration that the core validated: the values of all parameters, and every job with its motif and "
        "ranks; see [formats](../formats.md#resultjson)",
    ),
    (
        "facts",
        "sizes of the network; latencies and flit times in cycles, with their rounding errors (above 1 % is an error; "
        "windows and load steps are rounded to the nearest cycle); partitions; failed links; "
        "hot terminals of `hotspot`",
    ),
    (
        "warnings",
        "warnings by kind, such as `cold_table` (early measurement of a learning routing), `saturated` or `drift` (the "
        "latency had not settled)",
    ),
    ("files", "the other files of the run, by kind"),
    ("checksum", "checksum of the result"),
    ("checksums", "checksums of the other files"),
    ("jobs", "the jobs by name, see below; empty for traffic patterns"),
    (
        "flows",
        "with [flows](../flows.md): how many began in the window (`measured`) and are not complete (`unfinished`), "
        "mean size, completion times and slowdowns, bytes in flight, `late_share` of the packets, "
        "`reorder_distance_max` in packets, `receiver_buffer_bytes_max`, lists over bins of sizes up to `bin_bytes`",
    ),
    (
        "traces",
        "with a workload that plays traces: for each of their jobs the `format`, the `ranks`, the contents of the file "
        "(`counts`) and the assumptions of the reader (`notes`)",
    ),
    ("workload_finished", "with a workload: whether all jobs that end the run are done"),
    ("stuck", "with an unfinished workload: the ranks and the operations that they wait for"),
    (
        "blame",
        "with a workload: `jobs`, and `wait_ns_per_packet` and `stall_ns_per_packet` by victim and culprit, see "
        "[workloads](../workloads.md)",
    ),
    (
        "classes",
        "with [traffic classes](../traffic_classes.md): of each class the packets delivered in the window, "
        "`accepted_load` and latencies",
    ),
    ("class_blame", "with traffic classes and a workload: the delays of `blame` between classes"),
    ("mapping", "with `workload.placement=mapped`: dilation, busiest channel and time of the mapping"),
    (
        "queue",
        "with `workload.scheduler`, over the finished jobs: `makespan_ns` from the first submission to the last end, "
        "`utilisation` (rank time of the jobs / places for ranks / makespan), `jobs_per_ms`, mean and 95th percentile "
        "of `wait_ns`, `slowdown` and `bounded_slowdown`, `fragmentation_mean`, the mean of `groups` / `groups_least`, "
        "and `jobs_longer`, the number of jobs that take more than twice the run time of the log",
    ),
    ("system_throughput_gb_per_ms", "bytes received by all jobs over the time from the first start to the last finish"),
]

JOB_FIELDS: list[tuple[str, str]] = [
    ("motif", "name of the registered motif, or `program`"),
    ("ranks", "number of ranks"),
    ("ranks_finished", "number of finished ranks"),
    ("bytes", "bytes sent, without headers"),
    ("bytes_received", "bytes received, without headers"),
    ("bytes_within_nodes", "with `workload.ranks_per_node` above 1: bytes sent to ranks of the same node"),
    ("bytes_between_nodes", "with `workload.ranks_per_node` above 1: bytes sent over the network"),
    ("messages", "messages sent"),
    ("messages_received", "messages received"),
    ("packets", "packets received"),
    ("flits", "flits of the received packets"),
    ("start_ns", "start time of the ranks"),
    ("finish_ns", "finish time of the last rank; null for an unfinished job"),
    ("submit_ns", "with `workload.scheduler`, as the following: submission of the job"),
    ("wait_ns", "`start_ns` - `submit_ns`"),
    ("run_ns", "`finish_ns` - `start_ns`"),
    ("alone_ns", "with `workload=queue`: the run time alone, from runs of one iteration and of two"),
    ("slowdown", "`run_ns` / `alone_ns`"),
    ("bounded_slowdown", "(`wait_ns` + `run_ns`) / max(`run_ns`, `workload.slowdown_bound_ns`), at least 1"),
    ("groups", "groups of routers that the job uses"),
    ("groups_least", "least number of groups that have room for the job on an empty machine"),
    (
        "comm_time_mean_ns",
        "mean over the ranks: the time from a rank's start to its end without computation; null for an unfinished job",
    ),
    ("comm_time_std_ns", "standard deviation over the ranks"),
    ("comm_time_max_ns", "communication time of the slowest rank"),
    ("packet_latency_*_ns", "latency of the job's packets"),
    ("message_latency_*_ns", "latency of the job's messages, from the call of the send to the last byte"),
    ("hops_mean", "router-to-router hops per packet"),
    ("nonminimal_fraction", "part of the job's packets that left the minimal path"),
    (
        "injection_rate_gb_per_s",
        "`bytes` / (`finish_ns` - `start_ns`): the mean bandwidth that the job demands",
    ),
    (
        "peak_ingress_bytes",
        "peak of the bytes that the ranks have passed to their NICs and that are not yet received",
    ),
]

ROW_NOTE = (
    "`rows.parquet` has a column per key of the configuration, such as `traffic.load`, and per field of a job, such as "
    "`jobs.<name>.comm_time_mean_ns`. Columns of a time series, such as `series.latency_mean_ns`, hold lists."
)

_CHANNEL: list[tuple[str, str]] = [
    ("router", "the sending router"),
    ("port", "port of the sending router"),
    ("kind", "0 to a terminal, 1 local, 2 global"),
    ("peer_router", "the receiving router; -1: a terminal receives"),
    ("peer_port", "port of the receiving router; -1: a terminal receives"),
    ("terminal", "the receiving terminal; -1: a router receives"),
    ("latency_ns", "latency of the link"),
    ("hop_ns", "time of a hop over the channel without queueing"),
    ("flit_time_ns", "time of a flit on the channel"),
    ("flits", "flits sent in the window"),
    ("utilisation", "part of the window in which the channel carried flits"),
    ("stall_ns", "time in the window in which the channel had flits but no credits"),
]

_OF_QUEUE = (
    *("submit_ns", "start_ns", "finish_ns", "wait_ns", "run_ns", "alone_ns", "slowdown", "bounded_slowdown"),
    *("ranks", "groups", "groups_least"),
)

COLUMNS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "series.parquet": (
        "With `run.series_interval_ns`: a row per interval.",
        [
            ("time_ns", "end of the interval"),
            ("latency_mean_ns", "mean latency of the packets received in the interval"),
            ("packets", "packets received in the interval"),
            ("flits", "flits received in the interval"),
            ("hops_mean", "mean hops of the packets received in the interval"),
            ("throughput", "flits per terminal and flit time"),
        ],
    ),
    "flow_times.parquet": (
        "With [flows](../flows.md): a row per complete flow that began in the window, by time.",
        [
            ("time_ns", "begin of the flow"),
            ("completion_ns", "time until its last packet has arrived"),
            ("ideal_ns", "the same time on the idle network, by the fastest minimal path"),
            ("bytes", "its size"),
            ("source", "sending terminal"),
            ("destination", "receiving terminal"),
            ("class", "class of a flow of a file, otherwise 0"),
            ("packets", "its packets"),
            ("late_packets", "packets that arrived after a packet that was sent later"),
            ("reorder_distance", "largest difference between the numbers of such two packets"),
            ("held_packets", "most packets that waited at the receiver for an earlier one"),
        ],
    ),
    "channels.parquet": (
        "With `run.channels`, and with every workload: a row per channel. Only workloads have the columns with "
        "`group`, `<job>`, `<v>` (victim) and `<c>` (culprit).",
        [
            *_CHANNEL,
            ("group", "group of the sending router"),
            ("peer_group", "group of the receiving router; -1: a terminal receives"),
            ("flits.<job>", "flits of the job"),
            ("stall_ns.<job>", "stall time in which the job had packets at the channel"),
            ("wait_packet_ns.<v>.<c>", "packet-ns that `<v>` waited while the channel carried flits of `<c>`"),
            (
                "stall_packet_ns.<v>.<c>",
                "packet-ns that `<v>` waited for credits, split by the slots of `<c>` in the buffer downstream",
            ),
        ],
    ),
    "queue.parquet": (
        "With `workload.scheduler`: a row per job.",
        [("job", "name of the job"), *(field for field in JOB_FIELDS if field[0] in _OF_QUEUE)],
    ),
    "ranks.parquet": (
        "With every workload: a row per rank.",
        [
            ("job", "name of the job"),
            ("rank", "rank in the job"),
            ("terminal", "terminal of the rank"),
            ("node", "node of the rank; the terminal with one rank per node"),
            ("comm_time_ns", "time from start to end without computation"),
            ("finish_ns", "finish time"),
            ("compute_ns", "time of computation"),
            ("bytes_sent", "bytes sent, without headers"),
            ("bytes_received", "bytes received, without headers"),
        ],
    ),
    "job_series.parquet": (
        "With `workload.series_interval_ns`: a row per job and interval.",
        [
            ("time_ns", "end of the interval"),
            ("job", "name of the job"),
            ("packets", "packets received in the interval"),
            ("bytes_received", "bytes received in the interval"),
            ("bytes_sent", "bytes sent in the interval"),
            ("latency_mean_ns", "mean latency of the packets received in the interval"),
            ("hops_mean", "mean hops of the packets received in the interval"),
        ],
    ),
    "links.parquet": (
        "With `run.channels`, or with `workload.map_interval_ns`: the links over time from cycle 0 on, in at most 100 "
        "frames. A row is a link in one direction, or all links of a router to its terminals. In a network with more "
        "than 12,000 such rows per frame, a row is all links of one kind from one group to another.",
        [
            ("begin_ns", "start of the frame"),
            ("end_ns", "end of the frame"),
            ("router", "sending router; -1: a row of groups"),
            ("port", "its port; -1: all links to terminals, or a row of groups"),
            ("peer_router", "receiving router; -1: terminals, or a row of groups"),
            ("group", "group of the sending routers"),
            ("peer_group", "group of the receiving routers; -1: terminals receive"),
            ("kind", "0 to terminals, 1 local, 2 global"),
            ("links", "number of links in the row"),
            ("flits", "flits sent in the frame"),
            ("utilisation", "part of the frame in which a link carried flits, the mean over the links"),
            ("stall_share", "part of the frame in which a link had flits but no credits, the mean over the links"),
            ("queue", "flits that wait in the router for a link: the mean of samples at the ends of the first frames"),
            ("uncredited", "flits sent without a credit back, i.e. buffer slots in use downstream; sampled as `queue`"),
            ("flits.<job>", "flits of the job"),
            ("flits.class <class>", "flits of the traffic class"),
        ],
    ),
    "flows.parquet": (
        "With `links.parquet`: the five most frequent flows between groups among the sampled packets that wait for a "
        "link at the front of a buffer. A network without groups has up to 64 blocks of routers instead.",
        [
            *(
                (key, "as in `links.parquet`")
                for key in ("router", "port", "peer_router", "group", "peer_group", "kind")
            ),
            ("source_group", "group of the packets' sources"),
            ("destination_group", "group of their destinations"),
            ("packets", "sampled packets of the flow"),
            ("share", "their part of all sampled packets of the link"),
        ],
    ),
}

ROWS_NOTE = (
    "If a network names its switches and hosts, the tables also have columns with the names (`terminal_name` and so "
    "on). `messages.npz` (`workload.message_matrix`) holds matrices [ranks, ranks], from the row's rank to the "
    "column's rank. `<job>.bytes` and `<job>.messages` count the received data, and `<job>.time_ns` sums the times of "
    "the messages. `<job>.busy_ns` is the time in which at least one of the messages is in flight."
)
