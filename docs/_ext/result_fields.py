"""What the fields of a result and the columns of its tables mean; tests hold them against real runs.

`*` in a name stands for mean, p50, p95, p99 and max; `<job>`, `<v>` and `<c>` for names of jobs.
"""

from __future__ import annotations

FIELDS: list[tuple[str, str]] = [
    ("offered_load", "flits per terminal per flit time as configured, the mean over the window; null with a workload"),
    ("accepted_load", "flits per terminal per flit time as received in the window"),
    ("packet_latency_*_ns", "of the packets received in the window, counted from `latency_reference`"),
    (
        "latency_reference",
        "`nic` (acceptance by the network interface, as in the papers) or `generation` (source queueing included)",
    ),
    ("network_latency_*_ns", "the same, from acceptance by the network interface"),
    ("generation_latency_*_ns", "the same, from generation"),
    ("packet_latency_first_half_ns", "mean of the window's first half; null below 1,000 packets in it"),
    ("packet_latency_second_half_ns", "mean of the window's second half; null below 1,000 packets in it"),
    ("histogram_relative_error", "largest error of the percentiles"),
    ("hops_mean", "router-to-router hops per packet"),
    ("nonminimal_fraction", "part of the packets that left the minimal path"),
    (
        "packets_generated",
        "count over the window; with `router.source_backlog=kept`, what waits behind a full NIC is counted once its "
        "source gets to it",
    ),
    ("packets_injected", "count over the window: accepted by a network interface"),
    ("packets_delivered", "count over the window"),
    (
        "generations_missed",
        "with `router.source_backlog=lost`: packets that would have been due while a full NIC blocked their source",
    ),
    ("flits_delivered", "flits received in the window"),
    ("flit_hops", "channel traversals in the window, ejection counted and injection not"),
    ("cycles", "of the whole run"),
    ("simulated_ns", "of the whole run"),
    ("window_cycles", "length of the window"),
    ("window_ns", "length of the window"),
    ("drained", "whether the network emptied behind the window; null without `run.drain`"),
    ("cpu_seconds", "of the simulation loop alone"),
    ("wall_seconds", "of the simulation loop alone"),
    ("measure_cpu_seconds", "of its measuring window alone"),
    ("build_cpu_seconds", "to build the network"),
    ("peak_rss_mb", "the most memory that the process held"),
    ("state_hash", "equal hashes mean equal states"),
    ("version", "of the code: release, commit, and a hash of what was compiled"),
    (
        "results_version",
        "of the results that the core is tested to give: a run of another commit with the same one counts as finished; "
        "empty where the core was built from uncommitted files",
    ),
    (
        "plugins",
        "those whose components in C++ took part, with their versions; the run counts while they are unchanged",
    ),
    ("config_hash", "of the configuration without what changes no result; part of the folder's name"),
    ("config", "the resolved configuration, as the command composed it"),
    (
        "core_config",
        "the configuration as the core validated it: the values of all parameters, and every job with its motif and "
        "ranks; see [formats](../formats.md#resultjson)",
    ),
    (
        "facts",
        "sizes of the network; latencies and flit times in cycles with their rounding error (above 1 % is refused; "
        "windows and load steps are rounded to the nearest cycle); partitions; links that failed",
    ),
    (
        "warnings",
        "by kind, such as `cold_table` (a routing that learns was measured early) or `drift` (the halves of the window "
        "differ by more than a tenth)",
    ),
    ("files", "what lies beside the result, by kind"),
    ("checksum", "of the result"),
    ("checksums", "of the files beside it"),
    ("jobs", "by name, see below; empty for traffic patterns"),
    ("workload_finished", "of a workload: whether the jobs that the run waits for are done"),
    ("stuck", "of a workload that is not done: its ranks and what they wait for"),
    (
        "blame",
        "of a workload: `jobs`, and `wait_ns_per_packet` and `stall_ns_per_packet` by victim and culprit, see "
        "[workloads](../workloads.md)",
    ),
    ("mapping", "of `workload.placement=mapped`: dilation, busiest channel, and the time it took"),
    ("system_throughput_gb_per_ms", "bytes received by all jobs over the time from the first start to the last finish"),
]

JOB_FIELDS: list[tuple[str, str]] = [
    ("motif", "or `program`, where it is none that is registered"),
    ("ranks", "of the job"),
    ("ranks_finished", "those that are done"),
    ("bytes", "sent, headers not counted"),
    ("bytes_received", "received, headers not counted"),
    ("messages", "sent"),
    ("messages_received", "received"),
    ("packets", "received"),
    ("flits", "of them"),
    ("start_ns", "when its ranks start"),
    ("finish_ns", "when the last of them is done; null before"),
    (
        "comm_time_mean_ns",
        "over its ranks: all of a rank's time, from its start to its end, in which it does not compute; null while one "
        "is not done",
    ),
    ("comm_time_std_ns", "standard deviation over its ranks"),
    ("comm_time_max_ns", "of the slowest rank"),
    ("packet_latency_*_ns", "of its packets"),
    ("message_latency_*_ns", "of its messages, from the call of the send to the last byte"),
    ("hops_mean", "router-to-router hops per packet"),
    ("nonminimal_fraction", "part of its packets that left the minimal path"),
    (
        "injection_rate_gb_per_s",
        "`bytes` / (`finish_ns` - `start_ns`): the bandwidth that the job demands on average",
    ),
    (
        "peak_ingress_bytes",
        "the most bytes that its ranks had handed to their NICs and that were not yet received, at any instant",
    ),
]

ROW_NOTE = (
    "In `rows.parquet` the configuration stands as columns such as `traffic.load`, jobs as "
    "`jobs.<name>.comm_time_mean_ns`, a time series as columns of lists such as `series.latency_mean_ns`."
)

_CHANNEL: list[tuple[str, str]] = [
    ("router", "that sends"),
    ("port", "of that router"),
    ("kind", "0 to a terminal, 1 local, 2 global"),
    ("peer_router", "that receives; -1 = a terminal does"),
    ("peer_port", "of that router; -1 = a terminal receives"),
    ("terminal", "that receives; -1 = a router does"),
    ("latency_ns", "of the link"),
    ("hop_ns", "of a hop over it without queueing"),
    ("flit_time_ns", "that a flit takes on it"),
    ("flits", "sent in the window"),
    ("utilisation", "part of the window in which it carried flits"),
    ("stall_ns", "time in the window in which it stood still for lack of credits"),
]

COLUMNS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "series.parquet": (
        "With `run.series_interval_ns`: a row per interval.",
        [
            ("time_ns", "end of the interval"),
            ("latency_mean_ns", "of the packets received in it"),
            ("packets", "received"),
            ("flits", "received"),
            ("hops_mean", "of the packets received"),
            ("throughput", "flits per terminal per flit time"),
        ],
    ),
    "channels.parquet": (
        "With `run.channels`, and of every workload: a row per channel. Columns with `group`, `<job>`, `<v>` (victim) "
        "and `<c>` (culprit) are of a workload.",
        [
            *_CHANNEL,
            ("group", "of the router that sends"),
            ("peer_group", "of the router that receives; -1 where a terminal does"),
            ("flits.<job>", "of the job"),
            ("stall_ns.<job>", "time in which it stood still while the job had packets there"),
            ("wait_packet_ns.<v>.<c>", "packet-ns that `<v>` waited while the channel carried flits of `<c>`"),
            (
                "stall_packet_ns.<v>.<c>",
                "packet-ns that `<v>` waited for credits, by the slots that flits of `<c>` held in the buffer beyond",
            ),
        ],
    ),
    "ranks.parquet": (
        "Of every workload: a row per rank.",
        [
            ("job", "its name"),
            ("rank", "in the job"),
            ("terminal", "it runs on"),
            ("comm_time_ns", "from its start to its end, without computing"),
            ("finish_ns", "when it is done"),
            ("compute_ns", "it computes"),
            ("bytes_sent", "headers not counted"),
            ("bytes_received", "headers not counted"),
        ],
    ),
    "job_series.parquet": (
        "With `workload.series_interval_ns`: a row per job and interval.",
        [
            ("time_ns", "end of the interval"),
            ("job", "its name"),
            ("packets", "received in it"),
            ("bytes_received", "in it"),
            ("bytes_sent", "in it"),
            ("latency_mean_ns", "of the packets received in it"),
            ("hops_mean", "of the packets received in it"),
        ],
    ),
    "links.parquet": (
        "With `workload.map_interval_ns`: the links from each group to each other over time, in at most 100 frames.",
        [
            ("begin_ns", "of the frame"),
            ("end_ns", "of the frame"),
            ("group", "of the routers that send"),
            ("peer_group", "of the routers that receive; -1 where terminals do"),
            ("kind", "0 to terminals, 1 local, 2 global"),
            ("links", "in this bundle"),
            ("flits", "sent in the frame"),
            ("utilisation", "part of the frame in which a link carried flits, the mean of the bundle"),
            ("stall_share", "part of the frame in which a link stood still for lack of credits, likewise"),
            ("flits.<job>", "of the job"),
        ],
    ),
}

ROWS_NOTE = (
    "Where a network names its switches and hosts, tables have columns with the names, too (`terminal_name` and so "
    "on). `messages.npz` (`workload.message_matrix`) holds `<job>.bytes`, `<job>.messages`, `<job>.time_ns` and "
    "`<job>.busy_ns`, each [ranks, ranks]: what has arrived from the row's rank at the column's, the sum of the times "
    "of these messages, and the time in which at least one of them was under way."
)
