//! Microsoft's mock of a server, with the answers that `test_mock_server.py` asks for.
//!
//! It prints its port, and ends when it is killed.

use mssql_mock_tds::{
    ColumnDefinition, ColumnValue, InfoMessage, LeadingError, MockTdsServer, QueryResponse, Row,
    SqlDataType, TerminalError, create_test_identity,
};
use std::{env, fs};

fn units(text: &str, size: usize) -> Vec<Vec<u16>> {
    let all: Vec<u16> = text.encode_utf16().collect();
    all.chunks(size).map(<[u16]>::to_vec).collect()
}

fn bytes(all: &[u8], size: usize) -> Vec<Vec<u8>> {
    all.chunks(size).map(<[u8]>::to_vec).collect()
}

fn numbers() -> QueryResponse {
    let of = |name: &str, kind| ColumnDefinition::new(name, kind);
    let columns = vec![
        of("t", SqlDataType::TinyInt),
        of("s", SqlDataType::SmallInt),
        of("i", SqlDataType::Int),
        of("b", SqlDataType::BigInt),
        of("n", SqlDataType::NVarChar),
    ];
    let row = |t, s, i, b, n: &str| {
        Row::new(vec![
            ColumnValue::TinyInt(t),
            ColumnValue::SmallInt(s),
            ColumnValue::Int(i),
            ColumnValue::BigInt(b),
            ColumnValue::NVarChar(n.to_string()),
        ])
    };
    QueryResponse::new(
        columns,
        vec![
            row(0, i16::MIN, i32::MIN, i64::MIN, ""),
            row(255, i16::MAX, i32::MAX, i64::MAX, "größe 日本 🌊"),
            Row::new(vec![
                ColumnValue::Null,
                ColumnValue::Null,
                ColumnValue::Null,
                ColumnValue::Null,
                ColumnValue::NVarChar("x".to_string()),
            ]),
        ],
    )
}

fn long_values() -> QueryResponse {
    let columns = vec![
        ColumnDefinition::new("n", SqlDataType::NVarCharMax),
        ColumnDefinition::new("v", SqlDataType::VarCharMax),
        ColumnDefinition::new("b", SqlDataType::VarBinaryMax),
    ];
    let every: Vec<u8> = (0..=255).collect();
    let row = |size| {
        Row::new(vec![
            ColumnValue::NVarCharMax(units(&"a long text, 🌊 ".repeat(40), size)),
            ColumnValue::VarCharMax(bytes("a text of one byte each, ".repeat(9).as_bytes(), size)),
            ColumnValue::VarBinaryMax(bytes(&every, size)),
        ])
    };
    let nothing = Row::new(vec![
        ColumnValue::NVarCharMaxNull,
        ColumnValue::VarCharMax(vec![]),
        ColumnValue::VarBinaryMax(vec![]),
    ]);
    QueryResponse::new(columns, vec![row(1), row(7), nothing, row(10_000)])
}

fn one() -> QueryResponse {
    QueryResponse::select_one()
}

async fn made() -> Result<MockTdsServer, Box<dyn std::error::Error>> {
    let given: Vec<String> = env::args().collect();
    let address = "127.0.0.1:0";
    let pair = |certificate: &str, key: &str| -> Result<_, Box<dyn std::error::Error>> {
        create_test_identity(&fs::read(certificate)?, &fs::read(key)?)
    };
    Ok(match given[1].as_str() {
        "plain" => MockTdsServer::new(address).await?,
        "redirect" => {
            MockTdsServer::new_with_redirection(address, given[2].clone(), given[3].parse()?).await?
        }
        "tls" => MockTdsServer::new_with_tls(address, Some(pair(&given[2], &given[3])?)).await?,
        "strict" => MockTdsServer::new_with_strict_tls(address, pair(&given[2], &given[3])?).await?,
        other => return Err(format!("unknown: {other}").into()),
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = made().await?;
    {
        let registry = server.query_registry();
        let mut answers = registry.lock().await;
        answers.register("SELECT numbers;", numbers());
        answers.register("SELECT long_values;", long_values());
        let info = InfoMessage::new(5701, 0, "between the columns and the rows");
        answers.register("SELECT behind_a_message;", one().with_info_tokens(vec![info.clone()]));
        answers.register_with_trailing_info("SELECT before_a_message;", one(), vec![info]);
        let error = LeadingError::new(50_000, 16, "a statement before this one has failed");
        answers.register("SELECT behind_an_error;", one().with_leading_error(error));
        let error = TerminalError::new(1222, 16, "Lock request time out period exceeded.");
        answers.register("SELECT an_error;", QueryResponse::error_only(error));
    }
    println!("{}", server.local_addr().port());
    server.run().await?;
    Ok(())
}
