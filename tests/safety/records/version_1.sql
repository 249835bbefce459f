-- A database as it was made before it had a version, by the first release: it must be taken over as it is.
BEGIN TRANSACTION;
CREATE TABLE approvals (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	scope TEXT NOT NULL, 
	action TEXT NOT NULL, 
	frame TEXT NOT NULL, 
	run_id TEXT NOT NULL, 
	words TEXT NOT NULL, 
	evidence TEXT NOT NULL, 
	asked_at TEXT NOT NULL, 
	granted_by TEXT NOT NULL, 
	era TEXT NOT NULL, 
	expires_s FLOAT NOT NULL, 
	taken BOOLEAN NOT NULL
);
CREATE TABLE budgets (
	scope TEXT NOT NULL, 
	name TEXT NOT NULL, 
	spent_micro BIGINT NOT NULL, 
	held_micro BIGINT NOT NULL, 
	actions BIGINT NOT NULL, 
	PRIMARY KEY (scope)
);
INSERT INTO "budgets" VALUES('item:T-1:run','s',20,7,0);
CREATE TABLE calls (
	id INTEGER NOT NULL, 
	scope TEXT NOT NULL, 
	era TEXT NOT NULL, 
	at_s FLOAT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE claims (
	token TEXT NOT NULL, 
	goal TEXT NOT NULL, 
	epoch BIGINT NOT NULL, 
	holder TEXT NOT NULL, 
	era TEXT NOT NULL, 
	expires_s FLOAT NOT NULL, 
	PRIMARY KEY (token, goal)
);
INSERT INTO "claims" VALUES('T-1','flag',1,'','00000000-0000-4000-8000-000000000000',0.0);
INSERT INTO "claims" VALUES('T-0','flag',1,'','00000000-0000-4000-8000-000000000000',0.0);
CREATE TABLE finished (
	token TEXT NOT NULL, 
	goal TEXT NOT NULL, 
	inputs TEXT NOT NULL, 
	result TEXT NOT NULL, 
	trace TEXT NOT NULL, 
	PRIMARY KEY (token, goal)
);
INSERT INTO "finished" VALUES('T-0','flag','in','"out"','trace');
CREATE TABLE handoffs (
	id TEXT NOT NULL, 
	run_id TEXT NOT NULL, 
	flow_run_id TEXT NOT NULL, 
	api_url TEXT NOT NULL, 
	trace TEXT NOT NULL, 
	token TEXT NOT NULL, 
	question TEXT NOT NULL, 
	choices TEXT NOT NULL, 
	picture TEXT NOT NULL, 
	live TEXT NOT NULL, 
	host TEXT NOT NULL, 
	opened_at TEXT NOT NULL, 
	expires_at TEXT NOT NULL, 
	era TEXT NOT NULL, 
	expires_s FLOAT NOT NULL, 
	heard_s FLOAT NOT NULL, 
	state TEXT NOT NULL, 
	closed_at TEXT NOT NULL, 
	choice TEXT NOT NULL, 
	note TEXT NOT NULL, 
	"by" TEXT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE holds (
	id TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	worst_micro BIGINT NOT NULL, 
	PRIMARY KEY (id, scope)
);
INSERT INTO "holds" VALUES('4bcdd48db6bc44d8f53f6e54','item:T-1:run',7);
CREATE TABLE intents (
	token TEXT NOT NULL, 
	goal TEXT NOT NULL, 
	number BIGINT NOT NULL, 
	epoch BIGINT NOT NULL, 
	action TEXT NOT NULL, 
	frame TEXT NOT NULL, 
	trace TEXT NOT NULL, 
	done BOOLEAN NOT NULL, 
	PRIMARY KEY (token, goal, number)
);
INSERT INTO "intents" VALUES('T-1','flag',1,1,'click','frame','',1);
CREATE TABLE items (
	token TEXT NOT NULL, 
	goal TEXT NOT NULL, 
	status TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	trace TEXT NOT NULL, 
	flow_run_id TEXT NOT NULL, 
	how TEXT NOT NULL, 
	attempts BIGINT NOT NULL, 
	at TEXT NOT NULL, 
	PRIMARY KEY (token)
);
INSERT INTO "items" VALUES('T-1','flag','killed','r','t','','{"kind": "run"}',1,'2026-11-23T04:49:02+00:00');
CREATE TABLE kills (
	id INTEGER NOT NULL, 
	run_id TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	era TEXT NOT NULL, 
	at_s FLOAT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE runs (
	run_id TEXT NOT NULL, 
	title TEXT NOT NULL, 
	model TEXT NOT NULL, 
	status TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	steps BIGINT NOT NULL, 
	spent_micro BIGINT, 
	limit_micro BIGINT, 
	trace TEXT NOT NULL, 
	flow_run_id TEXT NOT NULL, 
	began TEXT NOT NULL, 
	ended TEXT NOT NULL, 
	PRIMARY KEY (run_id)
);
CREATE TABLE stopped (
	kill_id BIGINT NOT NULL, 
	run_id TEXT NOT NULL, 
	host TEXT NOT NULL, 
	PRIMARY KEY (kill_id, run_id)
);
CREATE TABLE suspensions (
	handoff TEXT NOT NULL, 
	flow_run_id TEXT NOT NULL, 
	asker TEXT NOT NULL, 
	asked TEXT NOT NULL, 
	attempt TEXT NOT NULL, 
	PRIMARY KEY (handoff)
);
CREATE INDEX ix_approvals_scope ON approvals (scope);
CREATE INDEX ix_calls_scope ON calls (scope);
CREATE INDEX ix_handoffs_state ON handoffs (state);
CREATE INDEX ix_suspensions_flow_run_id ON suspensions (flow_run_id);
COMMIT;
