------------------------------- MODULE CronService -------------------------------
(* The worker as the cron-service document writes it (docs/spec/cron-service.txt, section 12): launch, then insert
   the row, then advance next_run_at over everything that was seen, with a plain UPDATE. A time that is not yet due,
   because of jitter, becomes a timer in memory. Its leader lock is left out: a leader that was paused, or that was
   partitioned from the lock, works on next to the next one.

   It shares the database, the target, the faults and the promises with Kron.tla, and none of the protections.     *)
EXTENDS Kron

VARIABLE timers         \* per worker: the periods for which a timer waits in memory

all == <<vars, timers>>

Unheard(i) == worker[i].at \in {"waiting", "answered", "refused"}
Insert(p, state) == IF State(p) = "none" THEN Become(p, state) ELSE db     \* the key is unique here too

Enumerate(i) == /\ worker[i].at = "idle"
                /\ db.cursor < now
                /\ Remember(i, [Idle EXCEPT !.at = "choosing", !.period = db.cursor + 1, !.cursor = now])
                /\ UNCHANGED <<now, db, standby, life, wire, target, failovers, fooled, timers>>

\* `exists`, `has_inflight`, and what follows from them, are statements of their own: others come between.
Choose(i) ==
    LET p == worker[i].period IN
    /\ worker[i].at = "choosing"
    /\ \/ /\ State(p) # "none"
          /\ Remember(i, [worker[i] EXCEPT !.at = "next"])
          /\ UNCHANGED timers
       \/ /\ State(p) = "none" /\ (Overlap = "one" => \A q \in Periods : State(q) # "ENQUEUED")
          /\ \/ Remember(i, [worker[i] EXCEPT !.at = "claimed"]) /\ UNCHANGED timers
             \/ /\ worker[i].cursor > 0
                /\ Remember(i, [worker[i] EXCEPT !.at = "next"])
                /\ timers' = [timers EXCEPT ![i] = @ \union {p}]
       \/ /\ State(p) = "none" /\ Overlap = "one" /\ \E q \in Periods : State(q) = "ENQUEUED"
          /\ Remember(i, [worker[i] EXCEPT !.at = "skipping"])
          /\ UNCHANGED timers
    /\ UNCHANGED <<now, db, standby, life, wire, target, failovers, fooled>>

InsertSkipped(i) == /\ worker[i].at = "skipping"
                    /\ db' = Insert(worker[i].period, "SKIPPED")
                    /\ Remember(i, [worker[i] EXCEPT !.at = "next"])
                    /\ UNCHANGED <<now, standby, life, wire, target, failovers, fooled, timers>>

Launch(i) == Send(i) /\ UNCHANGED timers

\* ok ? 'ENQUEUED' : 'FAILED', and FAILED says: it did not run.
InsertResult(i) == /\ Unheard(i)
                   /\ db' = Insert(worker[i].period, IF worker[i].at = "answered" THEN "ENQUEUED" ELSE "MISSED")
                   /\ Remember(i, [worker[i] EXCEPT !.at = "next"])
                   /\ wire' = Abandoned(i)
                   /\ UNCHANGED <<now, standby, life, target, failovers, fooled, timers>>

Advance(i) == /\ worker[i].at = "next"
              /\ IF worker[i].period < worker[i].cursor
                 THEN Remember(i, [worker[i] EXCEPT !.at = "choosing", !.period = @ + 1]) /\ UNCHANGED db
                 ELSE /\ db' = IF worker[i].cursor = 0 THEN db ELSE [db EXCEPT !.cursor = worker[i].cursor]
                      /\ Forget(i)
              /\ UNCHANGED <<now, standby, life, wire, target, failovers, fooled, timers>>

Fire(i) == /\ worker[i].at = "idle"
           /\ \E p \in timers[i] : /\ timers' = [timers EXCEPT ![i] = @ \ {p}]
                                   /\ Remember(i, [Idle EXCEPT !.at = "claimed", !.period = p])
           /\ UNCHANGED <<now, db, standby, life, wire, target, failovers, fooled>>

Die(i) == Crash(i) /\ timers' = [timers EXCEPT ![i] = {}]

DocumentInit == Init /\ timers = [i \in Workers |-> {}]
Outside == (World \/ \E p \in Periods : Report(p)) /\ UNCHANGED timers
DocumentNext == \/ Outside
                \/ \E i \in Workers : \/ Enumerate(i) \/ Choose(i) \/ InsertSkipped(i) \/ Launch(i)
                                      \/ InsertResult(i) \/ Advance(i) \/ Fire(i) \/ Die(i)
DocumentSpec == DocumentInit /\ [][DocumentNext]_all
=================================================================================
