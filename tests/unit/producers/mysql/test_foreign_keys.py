"""Foreign keys out of a definition, as MySQL and MariaDB write it."""

from wrackline.producers.sources.mysql.discover.foreign_keys import Cascade, cascades

DEFINITION = """CREATE TABLE `child` (
  `id` int NOT NULL COMMENT 'CONSTRAINT `x` FOREIGN KEY (`a`) REFERENCES `b` (`c`) ON DELETE CASCADE',
  KEY `up` (`up`),
  CONSTRAINT `one` FOREIGN KEY (`up`, `b`) REFERENCES `parent` (`id`, `c`) ON DELETE CASCADE,
  CONSTRAINT `two` FOREIGN KEY (`up`) REFERENCES `other`.`parent` (`id`) ON UPDATE SET NULL,
  CONSTRAINT `three` FOREIGN KEY (`up`) REFERENCES `parent` (`id`) ON DELETE RESTRICT ON UPDATE NO ACTION,
  CONSTRAINT `four` FOREIGN KEY (`up`) REFERENCES `parent` (`id`),
  CONSTRAINT `fi``ve` FOREIGN KEY (`up`) REFERENCES `pa``rent` (`i``d`) ON DELETE SET NULL ON UPDATE CASCADE,
  CONSTRAINT `s`ix` FOREIGN KEY (`u`p`) REFERENCES `parent` (`id`) ON DELETE RESTRICT ON UPDATE CASCADE
) ENGINE=InnoDB"""


def test_only_keys_that_change_rows_come_with_their_names_quoted() -> None:
    assert list(cascades(DEFINITION, "shop")) == [
        Cascade("`one`", "`up`, `b`", "`shop`.`parent`", "`id`, `c`", "ON DELETE CASCADE"),
        Cascade("`two`", "`up`", "`other`.`parent`", "`id`", "ON UPDATE SET NULL"),
        Cascade(
            "`fi``ve`", "`up`", "`shop`.`pa``rent`", "`i``d`", "ON DELETE SET NULL and ON UPDATE CASCADE"
        ),
        Cascade("`s``ix`", "`u``p`", "`shop`.`parent`", "`id`", "ON UPDATE CASCADE"),
    ]
