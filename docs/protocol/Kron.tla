---------------------------------- MODULE Kron ----------------------------------
(* Why a period is neither lost nor run twice: Kron's protocol, small enough to be tried in every order.

   One schedule with the periods 1..Last, some workers, one database with a standby, one target outside. A step
   of the model is one committed statement, one message, or one fault. TLC takes the steps in every possible order.

   There are no clocks. A lease may run out at any moment after it was given, so every pause, partition and skewed
   clock is among the behaviours. A worker keeps what it has in memory until it crashes, so is every zombie: a
   worker that goes on with a claim which another worker has long held.

   Each switch takes one protection away. README.md says what they show, configurations.toml what TLC must
   find. The order of the cron-service document is in CronService.tla.                                          *)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
    \* the world
    Workers,            \* a set of model values
    Last,               \* the periods are 1..Last
    MaxAttempt,         \* a run is claimed so often, then given up
    MaxCrash,           \* so many crashes, of all workers together
    MaxEdit,            \* so many edits of the schedule
    MaxFailover,        \* so many failovers that lose the latest commits; 0: a synchronous standby
    Idempotent,         \* TRUE: the target knows a key that it has seen. FALSE: a command of the host, which does not
    Overlap,            \* "one": at most one active run ("skip", "queue"). "allow": any number
    \* the protections
    CompareCursor,      \* settle only if the cursor is the one that was read
    CompareRevision,    \* settle only if the revision is the one that was read
    UniqueKey,          \* a row that exists is not inserted again
    SettleAtOnce,       \* rows and cursor are one commit; FALSE: the cursor first, then the rows
    RecordFirst,        \* the row is committed before anything is sent; FALSE: sent first, settled after
    ActiveIndex,        \* the database itself refuses a second active run
    Active,             \* the states that count as active
    Silence,            \* what a launch without an answer becomes: RETRY, UNKNOWN, PENDING or MISSED
    Doubt,              \* what a refusal ends, if an earlier attempt may have arrived: see Refused
    Token,              \* an answer is written under: "none", "attempt", "attempt and owner"
    NotAfter,           \* a call carries the time after which the target refuses it; no lease ends before that
    Patience,           \* a run is given up only when the latest such time has passed
    StableKey,          \* the key is (schedule, period); FALSE: it has the revision in it too
    Reaper,             \* launches whose lease ran out are taken away from their worker
    RunLease            \* a run that falls silent ends as LOST

VARIABLES
    now,                \* the latest period that is due
    db,                 \* what is committed: cursor, revision, runs
    standby,            \* what a failover would leave; Current while the standby has everything
    worker,             \* what each worker has in memory
    life,               \* how often each worker was started again. Worker and life are the incarnation
    wire,               \* calls on their way to the target
    target,             \* what happened in the world, which no failover undoes
    failovers,
    fooled              \* TRUE once a write was accepted from a worker without the claim

vars == <<now, db, standby, worker, life, wire, target, failovers, fooled>>

-----------------------------------------------------------------------------------
(* Values *)

Periods   == 1..Last
Terminal  == {"DONE", "LOST", "UNKNOWN", "MISSED", "SKIPPED"}
States    == {"none", "PENDING", "LAUNCHING", "RETRY", "ENQUEUED"} \union Terminal   \* ENQUEUED is STARTED too

NoOwner   == << >>
Me(i)     == <<i, life[i]>>                                            \* an incarnation: one life of one process
Crashes   == Cardinality({n \in Workers \X (1..MaxCrash) : life[n[1]] >= n[2]})

NoRun     == [state |-> "none", attempt |-> 0, owner |-> NoOwner, doubt |-> FALSE, revision |-> 0]
Idle      == [at |-> "idle", period |-> 0, attempt |-> 0, cursor |-> 0, revision |-> 0, late |-> FALSE]
Current   == [cursor |-> 0, revision |-> 0, runs |-> << >>]            \* no state of the database looks like this

State(p)  == db.runs[p].state
Become(p, state)  == [db EXCEPT !.runs[p].state = state]
Silent(p)         == [db EXCEPT !.runs[p].state = Silence, !.runs[p].doubt = TRUE]   \* it may have arrived
Remember(i, what) == worker' = [worker EXCEPT ![i] = what]
Forget(i)         == Remember(i, Idle)

Key(run)  == IF StableKey THEN 0 ELSE run.revision                     \* the period is known anyway
Claim(p, attempt, owner) == [period |-> p, attempt |-> attempt, owner |-> owner]
Held(i)   == Claim(worker[i].period, worker[i].attempt, Me(i))
Free(p)   == \/ Overlap = "allow" \/ ~ActiveIndex
             \/ \A q \in Periods \ {p} : State(q) \notin Active

Init == /\ now = 0
        /\ db = [cursor |-> 0, revision |-> 1, runs |-> [p \in Periods |-> NoRun]]
        /\ standby = Current
        /\ worker = [i \in Workers |-> Idle]
        /\ life = [i \in Workers |-> 0]
        /\ wire = {}
        /\ target = [p \in Periods |-> [starts |-> 0, keys |-> {}, run |-> "none"]]
        /\ failovers = 0
        /\ fooled = FALSE

-----------------------------------------------------------------------------------
(* Time passes, people edit, machines fail *)

Tick == /\ now < Last
        /\ now' = now + 1
        /\ UNCHANGED <<db, standby, worker, life, wire, target, failovers, fooled>>

\* An edit, a pause, a deletion: a new revision. The cursor stays.
Edit == /\ db.revision <= MaxEdit
        /\ db' = [db EXCEPT !.revision = @ + 1]
        /\ UNCHANGED <<now, standby, worker, life, wire, target, failovers, fooled>>

\* The call of a command is inside the process and ends with it. A message that was sent is sent.
Abandoned(i) == IF Idempotent THEN wire ELSE {m \in wire : m.claim # Held(i)}

\* A crash, or an answer of the database that was lost: the worker begins again, under another name.
Crash(i) == /\ Crashes < MaxCrash
            /\ worker[i].at # "idle"
            /\ Forget(i)
            /\ life' = [life EXCEPT ![i] = @ + 1]
            /\ wire' = Abandoned(i)
            /\ UNCHANGED <<now, db, standby, target, failovers, fooled>>

\* Commits from here on do not reach the standby ...
FallBehind == /\ failovers < MaxFailover
              /\ standby = Current
              /\ standby' = db
              /\ UNCHANGED <<now, db, worker, life, wire, target, failovers, fooled>>

\* ... and are gone when it becomes the primary. Workers and the world remember them all the same.
Failover == /\ standby # Current
            /\ db' = standby
            /\ standby' = Current
            /\ failovers' = failovers + 1
            /\ UNCHANGED <<now, worker, life, wire, target, fooled>>

-----------------------------------------------------------------------------------
(* Look, then settle: what is due gets its rows, and the cursor moves over them *)

\* A plain read, without a lock. Planning is pure and needs no step.
Look(i) == /\ worker[i].at = "idle"
           /\ db.cursor < now
           /\ Remember(i, IF RecordFirst
                          THEN [Idle EXCEPT !.at = "planned", !.period = now,
                                            !.cursor = db.cursor, !.revision = db.revision]
                          ELSE [Idle EXCEPT !.at = "claimed", !.period = db.cursor + 1,
                                            !.cursor = db.cursor, !.revision = db.revision])
           /\ UNCHANGED <<now, db, standby, life, wire, target, failovers, fooled>>

Fresh(i)   == /\ CompareCursor => db.cursor = worker[i].cursor
              /\ CompareRevision => db.revision = worker[i].revision
Planned(i) == {p \in Periods : worker[i].cursor < p /\ p <= worker[i].period}
New(i)     == {p \in Planned(i) : State(p) = "none" \/ ~UniqueKey}
Rows(i)    == [p \in Periods |-> IF p \in New(i)
                                 THEN [NoRun EXCEPT !.state = "PENDING", !.revision = worker[i].revision]
                                 ELSE db.runs[p]]

Settle(i) == /\ worker[i].at = "planned"
             /\ IF ~Fresh(i) THEN Forget(i) /\ UNCHANGED db           \* another was faster: nothing happens
                ELSE IF SettleAtOnce
                THEN /\ db' = [db EXCEPT !.cursor = worker[i].period, !.runs = Rows(i)]
                     /\ Forget(i)
                ELSE /\ db' = [db EXCEPT !.cursor = worker[i].period]
                     /\ Remember(i, [worker[i] EXCEPT !.at = "half settled"])
             /\ UNCHANGED <<now, standby, life, wire, target, failovers, fooled>>

SettleTheRest(i) == /\ worker[i].at = "half settled"
                    /\ db' = [db EXCEPT !.runs = Rows(i)]
                    /\ Forget(i)
                    /\ UNCHANGED <<now, standby, life, wire, target, failovers, fooled>>

\* What is due now may be inserted as claimed by the inserting worker: one statement less.
SettleAndClaim(i) ==
    /\ worker[i].at = "planned" /\ Fresh(i) /\ SettleAtOnce
    /\ \E p \in New(i) :
         /\ Free(p)
         /\ db' = [db EXCEPT !.cursor = worker[i].period,
                             !.runs = [Rows(i) EXCEPT ![p].state = "LAUNCHING", ![p].attempt = 1, ![p].owner = Me(i)]]
         /\ Remember(i, [Idle EXCEPT !.at = "claimed", !.period = p, !.attempt = 1, !.revision = worker[i].revision])
    /\ UNCHANGED <<now, standby, life, wire, target, failovers, fooled>>

-----------------------------------------------------------------------------------
(* Claim, send *)

\* Skipped because another run is active, or missed because its deadline passed: in both cases untouched until now.
Close(p) == /\ State(p) = "PENDING"
            /\ db' = Become(p, "SKIPPED")
            /\ UNCHANGED <<now, standby, worker, life, wire, target, failovers, fooled>>

ClaimRun(i) ==
    /\ worker[i].at = "idle"
    /\ \E p \in Periods :
         LET run == db.runs[p] IN
         /\ run.state \in {"PENDING", "RETRY"}
         /\ run.attempt < MaxAttempt
         /\ Free(p)
         /\ db' = [db EXCEPT !.runs[p] = [run EXCEPT !.state = "LAUNCHING", !.attempt = @ + 1, !.owner = Me(i)]]
         /\ Remember(i, [Idle EXCEPT !.at = "claimed", !.period = p,
                                     !.attempt = run.attempt + 1, !.revision = run.revision])
    /\ UNCHANGED <<now, standby, life, wire, target, failovers, fooled>>

Send(i) == /\ worker[i].at = "claimed"
           /\ wire' = IF worker[i].late THEN wire                       \* the target would refuse it
                      ELSE wire \union {[claim |-> Held(i), key |-> Key(worker[i])]}
           /\ Remember(i, [worker[i] EXCEPT !.at = "waiting", !.late = FALSE,
                                            !.revision = IF RecordFirst THEN 0 ELSE @])
           /\ UNCHANGED <<now, db, standby, life, target, failovers, fooled>>

\* The sender hears of it if it still waits.
Told(m, word) == worker' = [i \in Workers |-> IF worker[i].at = "waiting" /\ Held(i) = m.claim
                                              THEN [worker[i] EXCEPT !.at = word] ELSE worker[i]]

\* A call takes effect. A key that was seen before changes nothing and is answered like the first time.
Arrive == \E m \in wire :
    LET p == m.claim.period
        seen == Idempotent /\ m.key \in target[p].keys
    IN /\ wire' = wire \ {m}
       /\ target' = IF seen THEN target
                    ELSE [target EXCEPT ![p] = [starts |-> IF @.starts = 0 THEN 1 ELSE 2,
                                                keys |-> IF Idempotent THEN @.keys \union {m.key} ELSE {},
                                                run |-> "running"]]
       /\ Told(m, "answered")
       /\ UNCHANGED <<now, db, standby, life, failovers, fooled>>

\* The target says no, and means this call only.
Refuse == \E m \in wire :
    /\ wire' = wire \ {m}
    /\ Told(m, "refused")
    /\ UNCHANGED <<now, db, standby, life, target, failovers, fooled>>

-----------------------------------------------------------------------------------
(* The answer is written under the token *)

Holds(i) == LET run == db.runs[worker[i].period] IN
            /\ run.state = "LAUNCHING" /\ run.attempt = worker[i].attempt /\ run.owner = Me(i)
Admitted(i) == LET run == db.runs[worker[i].period] IN
               \/ Token = "none"
               \/ /\ run.state = "LAUNCHING" /\ run.attempt = worker[i].attempt
                  /\ Token = "attempt and owner" => run.owner = Me(i)

\* Nothing is written by one who is not admitted; it forgets the claim, the row is another worker's now.
Write(i, after) == /\ db' = IF Admitted(i) THEN after ELSE db
                   /\ fooled' = (fooled \/ (Admitted(i) /\ ~Holds(i)))
                   /\ Forget(i)

Acknowledge(i) == /\ worker[i].at = "answered" /\ RecordFirst
                  /\ Write(i, Become(worker[i].period, "ENQUEUED"))
                  /\ UNCHANGED <<now, standby, life, wire, target, failovers>>

\* No answer in time. Whether the call took effect is not known here.
NoAnswer(i) == /\ worker[i].at \in {"waiting", "answered", "refused"} /\ RecordFirst
               /\ Write(i, Silent(worker[i].period))
               /\ wire' = Abandoned(i)
               /\ UNCHANGED <<now, standby, life, target, failovers>>

\* A clear no to this attempt says nothing of an earlier one that may have arrived. Then it is no better than silence.
Refused(p) == IF ~db.runs[p].doubt THEN Become(p, "MISSED")
              ELSE CASE Doubt = "wait" -> Silent(p)                     \* until the earlier one cannot arrive any more
                     [] Doubt = "end" -> Become(p, "UNKNOWN")
                     [] Doubt = "ignore" -> Become(p, "MISSED")

TakeNo(i) == /\ worker[i].at = "refused" /\ RecordFirst
             /\ Write(i, Refused(worker[i].period))
             /\ UNCHANGED <<now, standby, life, wire, target, failovers>>

TakeNotNow(i) == /\ worker[i].at = "refused" /\ RecordFirst
                 /\ Write(i, Become(worker[i].period, "RETRY"))
                 /\ UNCHANGED <<now, standby, life, wire, target, failovers>>

\* Only where RecordFirst is taken away: the row comes after the call.
SettleAfter(i) == /\ worker[i].at \in {"waiting", "answered", "refused"} /\ ~RecordFirst
                  /\ db' = IF ~Fresh(i) THEN db
                           ELSE [db EXCEPT !.cursor = worker[i].period,
                                           !.runs[worker[i].period].state =
                                               IF worker[i].at = "answered" THEN "ENQUEUED" ELSE "UNKNOWN",
                                           !.runs[worker[i].period].revision = worker[i].revision]
                  /\ Forget(i)
                  /\ wire' = Abandoned(i)
                  /\ UNCHANGED <<now, standby, life, target, failovers, fooled>>

-----------------------------------------------------------------------------------
(* Reap: what fell silent *)

\* Time has passed: the target refuses these calls, on the wire or still to be sent.
Expire(claims) ==
    IF NotAfter
    THEN /\ wire' = {m \in wire : m.claim \notin claims}
         /\ worker' = [i \in Workers |-> IF worker[i].at = "claimed" /\ Held(i) \in claims
                                         THEN [worker[i] EXCEPT !.late = TRUE] ELSE worker[i]]
    ELSE UNCHANGED <<wire, worker>>

\* A launch lease ran out. Its worker may be dead, asleep or only slow, and may wake at any moment.
Reap(p) == /\ Reaper
           /\ State(p) = "LAUNCHING"
           /\ db' = Silent(p)
           /\ Expire({Claim(p, db.runs[p].attempt, db.runs[p].owner)})
           /\ UNCHANGED <<now, standby, life, target, failovers, fooled>>

\* No attempt is left, and none that was sent can arrive any more.
GiveUp(p) == /\ Reaper
             /\ State(p) = "RETRY" /\ db.runs[p].attempt = MaxAttempt
             /\ db' = Become(p, IF db.runs[p].doubt /\ Doubt # "ignore" THEN "UNKNOWN" ELSE "MISSED")
             /\ IF Patience THEN Expire({Held(i) : i \in {j \in Workers : worker[j].period = p}}
                                        \union {m.claim : m \in {n \in wire : n.claim.period = p}})
                ELSE UNCHANGED <<wire, worker>>
             /\ UNCHANGED <<now, standby, life, target, failovers, fooled>>

-----------------------------------------------------------------------------------
(* The run itself *)

Finish(p) == /\ target[p].run = "running"
             /\ target' = [target EXCEPT ![p].run = "ended"]
             /\ UNCHANGED <<now, db, standby, worker, life, wire, failovers, fooled>>

\* The run says that it has ended, perhaps before its launch was acknowledged.
Report(p) == /\ target[p].run = "ended"
             /\ State(p) \in {"LAUNCHING", "RETRY", "ENQUEUED"}
             /\ db' = Become(p, "DONE")
             /\ UNCHANGED <<now, standby, worker, life, wire, target, failovers, fooled>>

Lose(p) == /\ RunLease
           /\ State(p) = "ENQUEUED"
           /\ db' = Become(p, "LOST")
           /\ UNCHANGED <<now, standby, worker, life, wire, target, failovers, fooled>>

-----------------------------------------------------------------------------------

Faults == Edit \/ FallBehind \/ Failover \/ \E i \in Workers : Crash(i)
World  == Tick \/ Arrive \/ Refuse \/ \E p \in Periods : Finish(p)
Work(i) == \/ Look(i) \/ Settle(i) \/ SettleTheRest(i) \/ SettleAndClaim(i)
           \/ ClaimRun(i) \/ Send(i)
           \/ Acknowledge(i) \/ NoAnswer(i) \/ TakeNo(i) \/ TakeNotNow(i) \/ SettleAfter(i)
Tend(p) == Close(p) \/ Reap(p) \/ GiveUp(p) \/ Report(p) \/ Lose(p)

Next == \/ Faults
        \/ World
        \/ \E i \in Workers : Work(i)
        \/ \E p \in Periods : Tend(p)

Spec == Init /\ [][Next]_vars

\* Clocks tick, some worker works, leases run out. No target must answer, no run must report, nothing must be skipped.
Fairness == /\ WF_vars(Tick)
            /\ \A i \in Workers : /\ SF_vars(Look(i)) /\ WF_vars(Settle(i)) /\ WF_vars(SettleTheRest(i))
                                  /\ SF_vars(ClaimRun(i)) /\ WF_vars(Send(i))
                                  /\ WF_vars(Acknowledge(i)) /\ WF_vars(NoAnswer(i))
            /\ \A p \in Periods : WF_vars(Reap(p)) /\ WF_vars(GiveUp(p)) /\ WF_vars(Lose(p))
LiveSpec == Spec /\ Fairness

Symmetry == Permutations(Workers)

-----------------------------------------------------------------------------------
(* Promises. What is said of one moment holds at every moment, since a crash may come at every moment. *)

TypeOK ==
    /\ now \in 0..Last
    /\ db.cursor \in 0..Last /\ db.revision \in 1..(MaxEdit + 1)
    /\ \A p \in Periods : State(p) \in States /\ db.runs[p].attempt \in 0..MaxAttempt
    /\ \A p \in Periods : target[p].starts \in 0..2 /\ target[p].run \in {"none", "running", "ended"}
    /\ \A i \in Workers : worker[i].at \in {"idle", "planned", "half settled", "claimed",
                                            "waiting", "answered", "refused"}
    /\ Crashes <= MaxCrash /\ failovers <= MaxFailover

\* Every period up to the cursor has its row.
NoPeriodLost == \A p \in Periods : p <= db.cursor => State(p) # "none"

\* Nothing happens in the world that the record does not know of.
RecordedFirst == \A p \in Periods : target[p].starts > 0 => State(p) # "none"

\* What is recorded as not run did not run, and what is recorded as accepted was accepted.
TrueRecord == \A p \in Periods : /\ State(p) \in {"SKIPPED", "MISSED"} => target[p].starts = 0
                                 /\ State(p) \in {"ENQUEUED", "DONE", "LOST"} => target[p].starts > 0

\* A row that is still to be claimed for the first time was never sent: only such a row may be closed unrun.
PendingIsUntouched == \A p \in Periods : State(p) = "PENDING" => db.runs[p].attempt = 0 /\ target[p].starts = 0

\* Run once: a command because it is called once, any other target because it knows the key.
AtMostOnce == \A p \in Periods : target[p].starts <= 1

\* At most one active run in the record ...
OneActive == Overlap = "one" => Cardinality({p \in Periods : State(p) \in Active}) <= 1

\* ... and in the world, those aside of which the record says that it lost sight of them.
OneRunning == Overlap = "one" =>
    Cardinality({p \in Periods : target[p].run = "running" /\ State(p) \notin {"LOST", "UNKNOWN"}}) <= 1

\* No worker writes the answer to a claim that it does not hold.
NoZombieWrite == ~fooled

\* A final state is final.
FinalIsFinal == [][\A p \in Periods : State(p) \in Terminal => State(p)' = State(p)]_vars

\* The cursor and the attempts only grow.
CursorGrows == [][db'.cursor >= db.cursor]_vars
AttemptGrows == [][\A p \in Periods : db'.runs[p].attempt >= db.runs[p].attempt]_vars

\* A row is made by the definition that was in force when it was committed.
LatestDecides == [][\A p \in Periods : State(p) = "none" /\ db'.runs[p].state # "none"
                                         => db'.runs[p].revision = db.revision]_vars

\* Nothing begins after the record has closed.
NoLateStart == [][\A p \in Periods : target[p].starts = 0 /\ target'[p].starts > 0 => State(p) \notin Terminal]_vars

\* The cursor reaches the last period, and every run comes to an end.
EveryPeriodEnds == <>[](db.cursor = Last /\ \A p \in Periods : State(p) \in Terminal)
=================================================================================
