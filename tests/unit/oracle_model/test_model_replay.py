"""What the model's log says is what its rows are: SQL_REDO is run as SQL in a second model."""

from collections import defaultdict
from random import Random

import pytest

from tests.fixtures.oracle_model import ModelOracle, ModelTransaction
from tests.unit.oracle_model.mined import FORMATS, Mined, Miner

COLUMNS = {
    "ID": "NUMBER(9)",
    "NAME": "VARCHAR2(30)",
    "AT": "TIMESTAMP(6)",
    "PART": "NCHAR(3)",
    "RAWS": "RAW(4)",
}
NAMES = ("it''s", "é€", "a;b", "'' or ''", "", "x")
COMMITTED, BACK = 7, 36


class Writer:
    """Writes at random, from several instances; a row is one transaction's until its end."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.model = ModelOracle(threads=3)
        self.model.create_table("SHOP.T", COLUMNS, key=("ID",))
        self.open: list[ModelTransaction] = []
        self.rows: dict[int, ModelTransaction | None] = {}
        self.begin = self.model.scn

    def write(self, steps: int) -> None:
        """Write so many steps, and end all transactions."""
        for _ in range(steps):
            chance = self.random.random()
            if chance < 0.15 or not self.open:
                self.open.append(self.model.begin(self.random.randint(1, 3)))
            elif chance < 0.3:
                self._end(self.random.choice(self.open))
            elif chance < 0.36:
                self.model.switch_log(self.random.randint(1, 3), archive=self.random.random() < 0.5)
            elif chance < 0.4 and len(self.open) > 1:
                self.model.commit_together(*(pair := self.random.sample(self.open, 2)))
                for one in pair:
                    self._forget(one)
            else:
                self._change(self.random.choice(self.open))
        while self.open:
            self._end(self.open[-1])

    def _end(self, one: ModelTransaction) -> None:
        if self.random.random() < 0.2:
            one.rollback()
        else:
            one.commit()
        self._forget(one)

    def _forget(self, one: ModelTransaction) -> None:
        self.open.remove(one)
        there = {int(str(number)) for (number,) in self.model.rows("SELECT ID FROM T")}
        self.rows = {number: other for number, other in self.rows.items() if other is not one}
        self.rows |= dict.fromkeys(there - self.rows.keys())

    def _change(self, one: ModelTransaction) -> None:
        free = [number for number, other in self.rows.items() if other in {None, one}]
        action = self.random.choice(("insert", "update", "update", "delete", "back"))
        name = self.random.choice(NAMES)
        if action == "insert" or not free:
            number = max(self.rows, default=0) + 1
            self.rows[number] = one
            moment = f"TIMESTAMP '2020-01-01 00:00:{self.random.randint(10, 59)}.5'"
            one.run(f"INSERT INTO T VALUES ({number}, '{name}', {moment}, 'é', HEXTORAW('0{number % 9}'))")
            return
        number = self.random.choice(free)
        self.rows[number] = one
        thread = self.random.choice((None, one.session.thread))
        if action == "back":
            one.savepoint("here")
            one.run(f"UPDATE T SET NAME = 'gone' WHERE ID = {number}", f"DELETE FROM T WHERE ID = {number}")
            one.rollback_to("here")
        elif action == "delete":
            one.run(f"DELETE FROM T WHERE ID IN ({number}, {self.random.choice(free)})", thread=thread)
            self.rows |= dict.fromkeys(free, one)
        else:
            one.run(f"UPDATE T SET NAME = '{name}', RAWS = NULL WHERE ID = {number}", thread=thread)


def replayed(rows: list[Mined]) -> ModelOracle:
    """Run what was committed, in the order of the commits, in a new database."""
    made = ModelOracle()
    made.create_table("SHOP.T", COLUMNS, key=("ID",))
    changes: defaultdict[str, list[Mined]] = defaultdict(list)
    for row in rows:
        xid = row["RAWTOHEX(XID)"]
        if row["OPERATION_CODE"] == COMMITTED:
            statements = [str(one["SQL_REDO"]).removesuffix(";") for one in changes.pop(xid, [])]
            made.run(FORMATS, *statements)
        elif row["OPERATION_CODE"] == BACK:
            assert not changes.pop(xid, []), "a rollback takes every change back before its end"
        elif row["ROLLBACK"]:
            mine = changes[xid]
            [at, *_] = [at for at in reversed(range(len(mine))) if mine[at]["ROW_ID"] == row["ROW_ID"]]
            del mine[at]
        elif row["OPERATION_CODE"] in {1, 2, 3}:
            changes[xid].append(row)
    assert not any(changes.values())
    return made


@pytest.mark.parametrize("seed", range(12))
def test_the_log_of_a_history_makes_the_same_rows(seed: int) -> None:
    writer = Writer(seed)
    writer.write(120)
    rows = Miner(writer.model).mine(writer.begin)
    everything = f"SELECT {', '.join(COLUMNS)} FROM T ORDER BY ID"
    assert replayed(rows).rows(everything) == writer.model.rows(everything)
    assert len({row["THREAD#"] for row in rows}) == 3
    for thread in (1, 2, 3):
        places = [row["RS_ID"] for row in rows if row["THREAD#"] == thread]
        assert places == sorted(places)


def test_a_history_is_the_same_each_time() -> None:
    one, other = Writer(7), Writer(7)
    one.write(60)
    other.write(60)
    assert Miner(one.model).mine() == Miner(other.model).mine()
