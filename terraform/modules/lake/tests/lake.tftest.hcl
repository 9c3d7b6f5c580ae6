mock_provider "aws" {
  source = "../../testing"
}

variables {
  name    = "lk-test"
  key_arn = "arn:aws:kms:us-east-1:123456789012:key/lake"
}

run "buckets_are_encrypted_private_and_kept" {
  assert {
    condition     = toset([for bucket in aws_s3_bucket.this : bucket.bucket]) == toset(["lk-test-123456789012-lake", "lk-test-123456789012-artifacts", "lk-test-123456789012-access"])
    error_message = "bucket names must say the account"
  }

  assert {
    condition = alltrue([for use in keys(aws_s3_bucket.this) : alltrue([
      aws_s3_bucket_public_access_block.this[use].block_public_acls,
      aws_s3_bucket_public_access_block.this[use].block_public_policy,
      aws_s3_bucket_public_access_block.this[use].ignore_public_acls,
      aws_s3_bucket_public_access_block.this[use].restrict_public_buckets,
    ])])
    error_message = "no bucket may be public in any way"
  }

  assert {
    condition = { for use, one in aws_s3_bucket_server_side_encryption_configuration.this : use => join(" ", flatten([for rule in one.rule : [for by in rule.apply_server_side_encryption_by_default : [by.sse_algorithm, try(coalesce(by.kms_master_key_id), "none")]]])) } == {
      lake      = "aws:kms arn:aws:kms:us-east-1:123456789012:key/lake"
      artifacts = "aws:kms arn:aws:kms:us-east-1:123456789012:key/lake"
      access    = "AES256 none"
    }
    error_message = "lake and artifacts must be under our key"
  }

  assert {
    condition     = alltrue([for one in aws_s3_bucket_versioning.this : one.versioning_configuration[0].status == "Enabled"])
    error_message = "every bucket must keep versions"
  }

  assert {
    condition     = alltrue([for bucket in aws_s3_bucket.this : !bucket.force_destroy])
    error_message = "destroy must not take data by default"
  }

  assert {
    condition     = toset(keys(aws_s3_bucket_logging.this)) == toset(["lake", "artifacts"])
    error_message = "access must be logged"
  }
}

run "what_does_not_speak_tls_is_denied" {
  assert {
    condition = alltrue([for document in data.aws_iam_policy_document.bucket : anytrue([for statement in document.statement :
      statement.effect == "Deny" && statement.actions == toset(["s3:*"]) && anytrue([for c in statement.condition : c.variable == "aws:SecureTransport" && c.values == tolist(["false"])])
    ])])
    error_message = "every bucket's policy must deny plain text"
  }

  assert {
    condition     = alltrue(flatten([for document in data.aws_iam_policy_document.bucket : [for statement in document.statement : statement.effect == "Deny" || alltrue([for who in statement.principals : who.type == "Service"])]]))
    error_message = "a bucket's policy allows services only"
  }
}

run "deleted_objects_go_after_a_while_and_tables_never" {
  assert {
    condition     = alltrue([for one in aws_s3_bucket_lifecycle_configuration.this : one.rule[0].noncurrent_version_expiration[0].noncurrent_days == 30])
    error_message = "deleted objects are had back for 30 days"
  }

  assert {
    condition     = alltrue(flatten([for rule in aws_s3_bucket_lifecycle_configuration.this["lake"].rule : [for e in rule.expiration : e.days == null || e.days == 0]]))
    error_message = "no rule may expire what the lake holds"
  }

  assert {
    condition = [for rule in aws_s3_bucket_lifecycle_configuration.this["lake"].rule : "s3://${aws_s3_bucket.this["lake"].id}/${rule.filter[0].prefix}" if length(rule.transition) > 0] == [
      "${aws_glue_catalog_database.this["archive"].location_uri}/"
    ]
    error_message = "what moves to a cheaper class is the archive, where its tables are"
  }
}

run "the_catalog_lies_in_the_lake" {
  assert {
    condition     = output.databases == tolist(["archive", "batch", "control", "pinned", "serving", "speed"])
    error_message = "a database for each schema"
  }

  assert {
    condition     = startswith(output.lake, "s3a://") && endswith(output.lake, "/lake") && endswith(output.checkpoints, "/checkpoints")
    error_message = "places as `lk` is told them"
  }
}

run "a_bad_number_of_days" {
  command = plan

  variables {
    days_deleted_is_kept = 0
  }

  expect_failures = [var.days_deleted_is_kept]
}

run "writes_and_deletes_in_the_lake_are_recorded" {
  assert {
    condition = { for selector in tolist(aws_cloudtrail.lake.advanced_event_selector)[0].field_selector : selector.field => join(" ", coalescelist(coalesce(selector.equals, []), coalesce(selector.starts_with, []))) } == {
      "eventCategory"  = "Data"
      "resources.type" = "AWS::S3::Object"
      "readOnly"       = "false"
      "resources.ARN"  = "arn:aws:s3:::lk-test-123456789012-lake/"
    }
    error_message = "each write and delete of an object of the lake, and of no other bucket"
  }

  assert {
    condition     = aws_cloudtrail.lake.enable_log_file_validation && aws_cloudtrail.lake.s3_bucket_name == aws_s3_bucket.this["access"].id
    error_message = "with digests, where access is logged"
  }

  assert {
    condition = alltrue([for statement in data.aws_iam_policy_document.trail.statement : anytrue([for c in statement.condition :
      c.variable == "aws:SourceArn" && c.values == tolist(["arn:aws:cloudtrail:us-east-1:123456789012:trail/lk-test-lake"])
    ])])
    error_message = "only this trail may write there"
  }
}
