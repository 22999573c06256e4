"""All commands, a row each: what it is called, what it asks, and where its function is."""

from __future__ import annotations

from peerbayes.commands.command import Command, Subject
from peerbayes.settings.declared import Settings
from peerbayes.settings.domains import FILE, FOLDER
from peerbayes.settings.live import (
    Explore,
    Launch,
    Members,
    MoreKeys,
    NewKeys,
    Peer,
    Router,
    WatchRun,
)
from peerbayes.settings.nets import CampaignRun, Experiment, Figures, Listing, Report, TrainFile
from peerbayes.settings.questions import (
    Analyse,
    Design,
    Formula,
    Placement,
    Simulate,
    Verify,
    VerifyClaims,
)

# Commands of live agents, a row each -------------------------------------------------------------


LIVE = "Run live agents"
LIVE_PROBLEM = Subject(
    "PROBLEM",
    "A TOML or JSON file, a built-in problem, a net file, or an experiment with nets.",
    completes="problems",
)
KEYS = Subject(
    "[DIR]", "All keys, or one process's.", default="keys", reader=FOLDER, completes="paths"
)

LIVE_COMMANDS = (
    Command(
        "launch",
        LIVE,
        "All agents of a problem as live processes here.",
        "Run all agents of a problem on this machine, each as a process; Ctrl-C ends them.",
        (Launch,),
        "peerbayes.front.live:launch",
        "peerbayes launch two-coins --rounds 100",
        LIVE_PROBLEM,
        leaves=("record",),
    ),
    Command(
        "peer",
        LIVE,
        "One agent of a live network, as a process.",
        "Run one agent of a live network, until it is done or Ctrl-C.\n\n"
        "It goes on from what it left in the folder for records. With --json, each report is a "
        "line.",
        (Peer,),
        "peerbayes.commands.live_answers:peer",
        "peerbayes peer two-coins --agent 0 --listen tcp/127.0.0.1:7447",
        LIVE_PROBLEM,
        speaks=True,
    ),
    Command(
        "watch",
        LIVE,
        "See live agents as they run, beside what theory predicts.",
        "Live agents as they run: who is heard, how late, how fast, beside what theory "
        "predicts.\n\nIt only listens. Ctrl-C ends it in order, with a record of what was seen.",
        (WatchRun,),
        "peerbayes.commands.live_answers:watch",
        "peerbayes watch two-coins",
        Subject(
            "PROBLEM",
            "What the agents run, a file or a built-in; or their network's 16 digits.",
            completes="problems",
        ),
        leaves=("record", "report"),
        speaks=True,
    ),
    Command(
        "router",
        LIVE,
        "Pass on what live agents say.",
        "Pass on what live agents say, where they do not reach one another; Ctrl-C ends it.",
        (Router,),
        "peerbayes.commands.live_answers:router",
        "peerbayes router --listen tcp/0.0.0.0:7447",
        speaks=True,
    ),
    Command(
        "keys new",
        LIVE,
        "Keys for every agent, a router and a watcher.",
        "Make an authority, and keys for every agent of a problem, a router and a watcher.",
        (NewKeys,),
        "peerbayes.commands.live_answers:new_keys",
        "peerbayes keys new two-coins",
        LIVE_PROBLEM,
        speaks=True,
    ),
    Command(
        "keys add",
        LIVE,
        "Keys for one more agent.",
        "Make keys for one more agent; 'keys members' makes it a member.",
        (MoreKeys,),
        "peerbayes.commands.live_answers:more_keys",
        "peerbayes keys add mast",
        Subject("NAME", "The agent's name."),
        speaks=True,
    ),
    Command(
        "keys members",
        LIVE,
        "Sign the next list of members.",
        "Sign the problem's network as the next list of members, for all folders.",
        (Members,),
        "peerbayes.commands.live_answers:sign_members",
        "peerbayes keys members two-coins",
        LIVE_PROBLEM,
        speaks=True,
    ),
    Command(
        "keys check",
        LIVE,
        "Examine keys, certificates and lists of members.",
        "Examine keys, certificates and lists of members; exit code 1 if something is wrong.",
        (Settings,),
        "peerbayes.commands.live_answers:check_keys",
        "peerbayes keys check",
        KEYS,
        speaks=True,
    ),
)


# All commands, a row each ------------------------------------------------------------------------


UNDERSTAND, DESIGN, TRAIN, RECORDS = (
    "Understand a problem",
    "Design a network",
    "Train nets and run the papers' experiments",
    "Records, files and what there is",
)

PROBLEM = Subject(
    "PROBLEM",
    "A TOML or JSON file, - for standard input, or a built-in problem.",
    completes="problems",
)
COMMANDS = (
    Command(
        "analyse",
        UNDERSTAND,
        "Mixing, best hypotheses, rate, exponent and sample sizes.",
        "Mixing, best hypotheses, rate, exponent and sample sizes. Draws nothing.\n\n"
        "With --exact or --certify, parts that take long are kept in the folder for records.",
        (Analyse,),
        "peerbayes.front.analyse:analyse",
        "peerbayes analyse two-coins --certify",
        PROBLEM,
    ),
    Command(
        "simulate",
        UNDERSTAND,
        "Run the exact algorithm on drawn observations; leaves a record.",
        "Run the exact algorithm on drawn observations; leaves a record.\n\n"
        "A long run keeps a checkpoint beside its record, removed at the end.",
        (Simulate,),
        "peerbayes.front.simulate:simulate",
        "peerbayes simulate two-coins --rounds 200 --replicates 1000",
        PROBLEM,
    ),
    Command(
        "verify",
        UNDERSTAND,
        "Compare theory with simulation.",
        "Compare theory with simulation; exit code 1 if a proved statement is broken.\n\n"
        "With --claims: the papers' statements, each with its verdict and a witness; exit code 1 "
        "if a witness no longer confirms its verdict.",
        (Verify, VerifyClaims),
        "peerbayes.commands.answers:verify",
        "peerbayes verify two-coins p1-regression",
        Subject(
            "[PROBLEM]...",
            "Files or built-in problems; all built-ins if left out.",
            several=True,
            completes="problems",
        ),
        leaves=("record", "report"),
        speaks=True,
    ),
    Command(
        "formula",
        UNDERSTAND,
        "Closed forms, checked before they are shown.",
        "Closed forms of v, eigenvalues, deviation, rate, sample sizes and risk.\n\n"
        "N stays symbolic where symmetry allows.\n\n"
        "Values are exact: 1/2 or 0.5. Exit code 1 if a formula and exact arithmetic disagree.",
        (Formula,),
        "peerbayes.commands.answers:formula",
        "peerbayes formula star --agents 9",
        Subject(
            "[TOPOLOGY]",
            "A family, 'weights', a problem, 'risk'; 'list', or nothing, says what there is.",
            default="list",
        ),
        speaks=True,
    ),
    Command(
        "explore",
        UNDERSTAND,
        "See a problem on a page, move it, design it.",
        "A page on which a problem can be seen, moved and designed; Ctrl-C ends it.\n\n"
        "The page is on this machine alone, at an address that is printed and that nobody else "
        "knows. It writes no files: what is to be kept is saved from the page.",
        (Explore,),
        "peerbayes.commands.answers:explore",
        "peerbayes explore two-coins",
        Subject(
            "[PROBLEM]", "A TOML or JSON file, or a built-in; a star if left out.", default=None
        ),
        speaks=True,
    ),
    Command(
        "design",
        DESIGN,
        "The best weights, with a certificate.",
        "The best v and W on the problem's graph, how good they are, and what rules would give.\n\n"
        "Limits are those of the problem's [design] table, and of the options. Leaves a record "
        "that 'report' shows. Exit code 1 if a solver gave up; the best weights that it had are "
        "printed.",
        (Design,),
        "peerbayes.front.design:design",
        "peerbayes design p2-grid --objective rate",
        PROBLEM,
        leaves=("record",),
    ),
    Command(
        "place",
        DESIGN,
        "Which agent should hold which data.",
        "The best placement of the agents' data, the network as it is; leaves a record.",
        (Placement,),
        "peerbayes.front.design:place",
        "peerbayes place 'p2-grid corner'",
        PROBLEM,
        leaves=("record",),
    ),
    Command(
        "train",
        TRAIN,
        "Train a net of your own on a network.",
        "Train a net of your own on a network, with your own data.\n\n"
        "Under torchrun the agents are spread over its processes; the numbers stay the same.",
        (TrainFile,),
        "peerbayes.front.train:train_file",
        "peerbayes train hospitals.toml --rounds 100",
        Subject(
            "NET",
            "A TOML or JSON file: network, data, net, training.",
            reader=FILE,
            completes="paths",
        ),
        leaves=("record", "report"),
        team=True,
    ),
    Command(
        "run",
        TRAIN,
        "Run an experiment of the papers.",
        "Run an experiment of the papers: printed beside measured and predicted.\n\n"
        "Exit code 1 if a measurement contradicts its prediction beyond sampling error. Under "
        "torchrun its processes share the parts; the numbers stay the same.",
        (Experiment,),
        "peerbayes.front.run:run",
        "peerbayes run regression-2 --replicates 20",
        Subject("EXPERIMENT", "Its name; 'peerbayes list' shows them.", completes="experiments"),
        leaves=("record", "report"),
        team=True,
    ),
    Command(
        "campaign",
        TRAIN,
        "Run every experiment with nets that is not on record.",
        "Run the papers' experiments with neural nets, part by part, until nothing is missing.\n\n"
        "Most telling parts come first. A campaign may be stopped or killed at any moment: started "
        "again, it goes on where it was. Exit code 1 if a part failed, or a short record is "
        "damaged.",
        (CampaignRun,),
        "peerbayes.commands.answers:campaign",
        "peerbayes campaign --status",
        speaks=True,
    ),
    Command(
        "figures",
        TRAIN,
        "Redraw the papers' figures, each with a verdict.",
        "Redraw the figures of the papers from records: each beside what is printed, with a "
        "verdict.\n\n"
        "A figure is reproduced, not reproduced, or undecidable here; then the command that makes "
        "what is missing is named. Records of 'run' in the --out folder count too. Exit code 1 if "
        "a short record is damaged: the others count.",
        (Figures,),
        "peerbayes.commands.answers:figures",
        "peerbayes figures p2-5b",
        Subject("[FIGURE]...", "Such as p1-4a or p2-5b; every figure if left out.", several=True),
        speaks=True,
    ),
    *LIVE_COMMANDS,
    Command(
        "report",
        RECORDS,
        "One HTML page: prediction beside measurement.",
        "One self-contained HTML page: prediction beside measurement, with figures.\n\n"
        "Exit code 1 if beliefs that a record speaks of are damaged, or some records in a file of "
        "many; they are named.",
        (Report,),
        "peerbayes.commands.answers:report",
        "peerbayes report peerbayes-out/verify.json",
        Subject(
            "[RECORD]...",
            "Records of verify; those in the folder if left out.",
            several=True,
            reader=FILE,
            completes="paths",
        ),
        speaks=True,
    ),
    Command(
        "list",
        RECORDS,
        "The built-in problems and the experiments.",
        "The built-in problems and their variants, and the experiments, with what is on record.",
        (Listing,),
        "peerbayes.commands.answers:listing",
        "peerbayes list",
        speaks=True,
    ),
    Command(
        "schema",
        RECORDS,
        "The JSON schema of files and results.",
        "The JSON schema of a problem or net file, a record, or a command's JSON.",
        (Settings,),
        "peerbayes.commands.answers:schema",
        "peerbayes schema analyse",
        Subject(
            "[NAME]",
            "problem or net (the files), or a command whose JSON is described.",
            default="problem",
        ),
        speaks=True,
    ),
)
